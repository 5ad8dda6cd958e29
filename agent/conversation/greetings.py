"""Greetings, thanks and questions for help, which ask for no data."""

import re

_GREETING = re.compile(
    r"(?!there|everyone|so |very |a lot|большое)"
    r"(?:(?:hello|hi|hey|thanks|thank you|thx|good (?:morning|afternoon|evening|day)|bye|goodbye|ok(?:ay)?|"
    r"there|everyone|so much|very much|a lot|"
    r"привет|здравствуй(?:те)?|добр(?:ый день|ое утро|ый вечер)|спасибо|большое|благодарю|пока|до свидания|"
    r"你好|您好|大家好|早上好|下午好|晚上好|谢谢(?:你|您)?|再见)[\s,.!?;:)，。！？~]*)+",
    re.IGNORECASE,
)


def is_greeting(text: str) -> bool:
    """Return whether `text` consists only of greetings or thanks, in English, Russian or Chinese.

    >>> is_greeting("Hello there!"), is_greeting("Спасибо большое"), is_greeting("hi, how many orders?")
    (True, True, False)
    """
    return _GREETING.fullmatch(text.strip()) is not None


_HELP = re.compile(
    r"[\s¿]*(?:help(?: me)?|what (?:can|could|may|should) (?:i|we) ask(?: you| here| about)?|"
    r"what can you (?:do|answer)|"
    r"how (?:does this|do you) work|what questions can (?:i|we) ask|"
    r"помощь|помоги(?:те)?|что (?:здесь |тут )?можно спросить|что (?:я )?могу (?:я )?(?:у тебя |у вас )?спросить|"
    r"что (?:ты умеешь|вы умеете)|о чём можно спросить|о чем можно спросить|"
    r"帮助|我(?:可以|能)问(?:你|您)?(?:什么|些什么|哪些问题)|(?:可以|能)问(?:什么|些什么|哪些问题)|(?:你|您)(?:会|能)(?:做)?什么)"
    r"[\s,.!?;:，。！？~]*",
    re.IGNORECASE,
)


def asks_for_help(text: str) -> bool:
    """Return whether `text` only asks which questions are possible, in English, Russian or Chinese.

    >>> asks_for_help("What can I ask?"), asks_for_help("Что можно спросить?"), asks_for_help("What can I ask Ann?")
    (True, True, False)
    """
    return _HELP.fullmatch(text.strip()) is not None
