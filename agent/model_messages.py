"""Texts on the model, in English, Russian and Chinese; `agent.messages` has them among its own."""

from typing import Literal

MODEL_TEXTS: dict[str, dict[Literal["en", "ru", "zh"], str]] = {
    "model_answer_unreadable": {
        "en": "The model gave no readable {schema}. Try again, or use another model (DATASPHINX_LLM_MODEL).",
        "ru": "Модель не дала читаемого ответа {schema}. Повторите или выберите другую модель (DATASPHINX_LLM_MODEL).",
        "zh": "模型没有给出可读的 {schema}。请重试，或换一个模型（DATASPHINX_LLM_MODEL）。",
    },
    "model_unreachable": {
        "en": "The model endpoint {endpoint} does not answer: {reason}. Check DATASPHINX_LLM_BASE_URL and that the server runs.",
        "ru": "Модель по адресу {endpoint} не отвечает: {reason}. Проверьте DATASPHINX_LLM_BASE_URL и работу сервера.",
        "zh": "模型端点 {endpoint} 没有响应：{reason}。请检查 DATASPHINX_LLM_BASE_URL 以及服务器是否在运行。",
    },
    "model_rejected": {
        "en": "The model endpoint {endpoint} refused the request: {reason}. Check the DATASPHINX_LLM_* settings.",
        "ru": "Модель по адресу {endpoint} отклонила запрос: {reason}. Проверьте настройки DATASPHINX_LLM_*.",
        "zh": "模型端点 {endpoint} 拒绝了请求：{reason}。请检查 DATASPHINX_LLM_* 设置。",
    },
    "embedded_model_silent": {
        "en": "The embedded model was not done within {seconds:g} s: the machine is busy. Ask again later, or raise DATASPHINX_MAX_QUESTION_S.",
        "ru": "Встроенная модель не успела ответить за {seconds:g} с: машина занята. Спросите позже или увеличьте DATASPHINX_MAX_QUESTION_S.",
        "zh": "内置模型在 {seconds:g} 秒内未能完成：机器繁忙。请稍后再问，或调高 DATASPHINX_MAX_QUESTION_S。",
    },
    "embedded_model_unavailable": {
        "en": "The embedded model is not available: {reason} Or name an endpoint with DATASPHINX_LLM_BASE_URL.",
        "ru": "Встроенная модель недоступна: {reason} Или укажите свою модель через DATASPHINX_LLM_BASE_URL.",
        "zh": "内置模型不可用：{reason} 或者用 DATASPHINX_LLM_BASE_URL 指定一个端点。",
    },
}
