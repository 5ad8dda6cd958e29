"""Texts on clarifying questions, threads and feedback, in English, Russian and Chinese; see `agent.messages`."""

from typing import Literal

CONVERSATION_TEXTS: dict[str, dict[Literal["en", "ru", "zh"], str]] = {
    "nothing_asked": {
        "en": "There is no clarifying question to answer: it was answered already, or none was asked. Ask a question.",
        "ru": "Уточняющего вопроса нет: на него уже ответили или его не задавали. Задайте вопрос.",
        "zh": "没有待回答的澄清问题：它已被回答，或从未提出。请直接提问。",
    },
    "option_unknown": {
        "en": "There is no option {given}: choose a number from 1 to {options}, or answer in your own words. The question is still open.",
        "ru": "Варианта {given} нет: выберите номер от 1 до {options} или ответьте своими словами. Вопрос остаётся открытым.",
        "zh": "没有选项 {given}：请选择 1 到 {options} 之间的编号，或用自己的话回答。该问题仍待回答。",
    },
    "nothing_answered": {
        "en": "There is no answer that this feedback can be about. Give it on the thread of a question that was answered, and answer an open clarifying question first.",
        "ru": "Нет ответа, к которому относится этот отзыв. Давайте его в той же беседе после ответа, а на открытый уточняющий вопрос сначала ответьте.",
        "zh": "没有与此反馈对应的回答。请在已得到回答的会话中反馈；若有待回答的澄清问题，请先回答。",
    },
    "input_invalid": {
        "en": "The input `{name}` cannot be used: {reason}.",
        "ru": "Входное значение `{name}` нельзя использовать: {reason}.",
        "zh": "输入 `{name}` 无法使用：{reason}。",
    },
    "thread_unknown": {
        "en": "There is no thread {thread_id}. Ask without one to begin a conversation; its id comes with the answer.",
        "ru": "Беседы {thread_id} нет. Чтобы начать беседу, задайте вопрос без неё; её идентификатор придёт с ответом.",
        "zh": "没有会话 {thread_id}。不带会话提问即可开始新会话，其标识会随回答返回。",
    },
    "thread_busy": {
        "en": "Another question on thread {thread_id} is being answered. Wait for it, then try again.",
        "ru": "В беседе {thread_id} ещё готовится ответ. Дождитесь его и повторите.",
        "zh": "会话 {thread_id} 中的另一个问题正在回答。请等待其完成后重试。",
    },
    "threads_unavailable": {
        "en": "The threads, {url}, cannot be used: {reason}. Check DATASPHINX_THREADS_URL and that its database runs.",
        "ru": "Беседы, {url}, недоступны: {reason}. Проверьте DATASPHINX_THREADS_URL и работу базы данных.",
        "zh": "会话存储 {url} 无法使用：{reason}。请检查 DATASPHINX_THREADS_URL 以及其数据库是否在运行。",
    },
    "what_is_meant": {
        "en": "What do you mean by “{phrase}”?",
        "ru": "Что имеется в виду под «{phrase}»?",
        "zh": "“{phrase}”指的是什么？",
    },
    "own_words": {
        "en": "or answer in your own words",
        "ru": "или ответьте своими словами",
        "zh": "或用自己的话回答",
    },
    "preview_rows": {
        "en": "rows: {count}",
        "ru": "строк: {count}",
        "zh": "行数：{count}",
    },
    "preview_first": {
        "en": "rows: {count}, first: {first}",
        "ru": "строк: {count}, первая: {first}",
        "zh": "行数：{count}，首个：{first}",
    },
    "assumed": {
        "en": "Assumed: {assumptions}",
        "ru": "Принято: {assumptions}",
        "zh": "假设：{assumptions}",
    },
    "read_as": {
        "en": "“{phrase}” was read as {taken}, not {others}",
        "ru": "«{phrase}» понято как {taken}, а не {others}",
        "zh": "“{phrase}”理解为 {taken}，而非 {others}",
    },
    "several_readings": {
        "en": "“{phrase}” can be read in several ways, and the SQL shows the one that was taken",
        "ru": "«{phrase}» можно понять по-разному; какое понимание выбрано, видно из SQL",
        "zh": "“{phrase}”有多种理解，所采用的理解见 SQL",
    },
    "answer_accepted": {
        "en": "Noted: the answer is right.",
        "ru": "Принято: ответ верный.",
        "zh": "已记录：该回答正确。",
    },
}
