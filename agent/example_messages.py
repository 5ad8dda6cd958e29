"""Texts on few-shot examples, in English, Russian and Chinese; `agent.messages` has them among its own."""

from typing import Literal

EXAMPLE_TEXTS: dict[str, dict[Literal["en", "ru", "zh"], str]] = {
    "example_invalid": {
        "en": "{place} is no example that can be kept: {reason}.",
        "ru": "{place} нельзя сохранить как пример: {reason}.",
        "zh": "{place} 无法作为示例保存：{reason}。",
    },
    "examples_refused": {
        "en": "Nothing of {file} was kept. Correct or remove these lines: {problems}",
        "ru": "Из {file} ничего не сохранено. Исправьте или удалите эти строки: {problems}",
        "zh": "{file} 中的内容均未保存。请更正或删除这些行：{problems}",
    },
    "example_unknown": {
        "en": "There is no example {example_id}. `datasphinx examples list` shows those that are kept.",
        "ru": "Примера {example_id} нет. Сохранённые примеры показывает `datasphinx examples list`.",
        "zh": "没有示例 {example_id}。`datasphinx examples list` 会列出已保存的示例。",
    },
    "examples_unavailable": {
        "en": "The few-shot examples, {store}, cannot be used: {reason}. Repair or remove the file; DATASPHINX_SHOTS=0 works without it.",
        "ru": "Примеры, {store}, недоступны: {reason}. Исправьте или удалите файл; DATASPHINX_SHOTS=0 позволяет работать без него.",
        "zh": "示例 {store} 无法使用：{reason}。请修复或删除该文件；设置 DATASPHINX_SHOTS=0 可不使用示例。",
    },
    "examples_unseen": {
        "en": "The embedded model is shown no examples: it is not trained on them. What was kept is shown to a real model, once DATASPHINX_LLM_BASE_URL or DATASPHINX_LLM_API_KEY is set.",
        "ru": "Встроенная модель не видит примеров: она на них не обучена. Сохранённое увидит другая модель, когда будет задано DATASPHINX_LLM_BASE_URL или DATASPHINX_LLM_API_KEY.",
        "zh": "内置模型不会看到示例：它未针对示例训练。设置 DATASPHINX_LLM_BASE_URL 或 DATASPHINX_LLM_API_KEY 后，所配置的模型会看到已保存的示例。",
    },
}
