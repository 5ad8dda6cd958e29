"""Texts on requests to the server, in English, Russian and Chinese; see `agent.messages`."""

from typing import Literal

SERVICE_TEXTS: dict[str, dict[Literal["en", "ru", "zh"], str]] = {
    "request_too_large": {
        "en": "The request has more than {limit} bytes. Send less, or raise {setting}.",
        "ru": "В запросе больше {limit} байт. Отправьте меньше или увеличьте {setting}.",
        "zh": "请求超过 {limit} 字节。请减少内容，或调高 {setting}。",
    },
    "request_timeout": {
        "en": "The request was stopped after {seconds:g} s. Ask for less, or raise DATASPHINX_REQUEST_TIMEOUT_S.",
        "ru": "Запрос остановлен через {seconds:g} с. Запросите меньше или увеличьте DATASPHINX_REQUEST_TIMEOUT_S.",
        "zh": "请求在 {seconds:g} 秒后被停止。请缩小范围，或调高 DATASPHINX_REQUEST_TIMEOUT_S。",
    },
    "origin_refused": {
        "en": "A server without keys is asked under a name of this machine alone, such as localhost, and by no page of another site: {origin} is refused. Set DATASPHINX_API_KEYS to serve others.",
        "ru": "К серверу без ключей обращаются только по имени этой машины, например localhost, и не со страниц других сайтов: {origin} отклонён. Чтобы обслуживать других, задайте DATASPHINX_API_KEYS.",
        "zh": "未设密钥的服务器只能以本机名称（如 localhost）访问，且不接受其他网站页面的请求：已拒绝 {origin}。若要为他人服务，请设置 DATASPHINX_API_KEYS。",
    },
    "chart_unknown": {
        "en": "There is no chart {chart_id}. Its id comes with the answer, in `charts`.",
        "ru": "Диаграммы {chart_id} нет. Её идентификатор приходит с ответом, в `charts`.",
        "zh": "没有图表 {chart_id}。其标识随回答返回，位于 `charts` 中。",
    },
    "run_unknown": {
        "en": "The thread has no run {run_id}. The ids stand in its history.",
        "ru": "В этой беседе нет запуска {run_id}. Идентификаторы — в её истории.",
        "zh": "该会话中没有运行 {run_id}。标识见其历史记录。",
    },
    "key_missing": {
        "en": "This server wants a key: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
        "ru": "Серверу нужен ключ: отправьте его как `Authorization: Bearer KEY` или `X-API-Key: KEY`.",
        "zh": "此服务器需要密钥：请以 `Authorization: Bearer KEY` 或 `X-API-Key: KEY` 发送。",
    },
    "limit_reached": {
        "en": "The limit of {limit} is reached. Try again in {seconds} s.",
        "ru": "Достигнут предел: {limit}. Повторите через {seconds} с.",
        "zh": "已达到上限：{limit}。请在 {seconds} 秒后重试。",
    },
}
