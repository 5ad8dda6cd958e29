"""Greetings and thanks, which ask for nothing."""

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
