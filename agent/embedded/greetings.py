"""Greetings, thanks, questions for help and requests to change data, which ask for no data."""

import re

_GREETINGS = (
    r"hello|hi|hey|thanks|thank you|thx|good (?:morning|afternoon|evening|day)|bye|goodbye|ok(?:ay)?|"
    r"hallo|guten (?:morgen|tag|abend)|servus|moin|grüß gott|danke(?:schön)?|vielen dank|besten dank|"
    r"tschüss?|auf wiedersehen|"
    r"привет|здравствуй(?:те)?|добр(?:ый день|ое утро|ый вечер)|спасибо|благодарю|пока|до свидания|"
    r"你好|您好|大家好|早上好|下午好|晚上好|谢谢(?:你|您)?|再见"
)
_ADDITIONS = (
    r"there|everyone|so much|very much|a lot|"
    r"zusammen|sehr|schön|alle|"
    r"большое"
)
"""Words after a greeting, such as "there"."""
_HELP = (
    r"help(?: me)?|what (?:can|could|may|should) (?:i|we) ask(?: you| here| about)?|what can you (?:do|"
    r"answer)|how (?:does this|do you) work|what questions can (?:i|we) ask|"
    r"(?:which|what) tables (?:exist|are there|do you have)|"
    r"describe (?:the|my|this) (?:data|database)|"
    r"hilfe|hilf mir|was kann ich (?:hier |sie |dich )?fragen|was können sie(?: beantworten)?|"
    r"was kannst du(?: beantworten)?|welche fragen kann ich (?:hier )?stellen|wie funktioniert (?:das|"
    r"dies)(?: hier)?|wonach kann ich fragen|welche tabellen (?:gibt es|sind vorhanden)|beschreibe die daten|"
    r"помощь|помоги(?:те)?|что (?:здесь |тут )?можно спросить|что (?:я )?могу (?:я )?(?:у тебя |"
    r"у вас )?спросить|что (?:ты умеешь|вы умеете)|о чём можно спросить|о чем можно спросить|"
    r"какие(?: есть)? таблицы(?: есть)?|опиши данные|"
    r"帮助|我(?:可以|能)问(?:你|您)?(?:什么|些什么|哪些问题)|(?:可以|能)问(?:什么|些什么|哪些问题)|(?:你|您)(?:会|能)(?:做)?什么|"
    r"有(?:哪些|什么)表格?|(?:描述|介绍)(?:一下)?数据(?:特征)?"
)
"""Complete questions for what can be asked: its answer names the tables."""
_CHANGE = re.compile(
    r"(?:please |can you |could you |i want (?:you )?to |just )*"
    r"(?:(?:delete|erase|truncate|insert|rename) \w|"
    r"(?:drop|update|cancel|remove|set|change) (?:the|all|every|table|my) )|"
    r"(?:bitte )?(?:lösche|entferne|ändere|füge|setze) |.*\b(?:löschen|entfernen|stornieren)\s*[.!]?$|"
    r"(?:пожалуйста,? )?(?:удали|сотри|очисти|добавь|обнови|вставь|отмени)(?:те)? |"
    r"(?:请|帮我)*(?:把.{1,12})?(?:删除|删掉|清空|插入|更新|修改)",
    re.IGNORECASE,
)
_GREETING = re.compile(rf"(?!{_ADDITIONS})(?:(?:{_GREETINGS}|{_ADDITIONS})[\s,.!?;:)，。！？~]*)+", re.IGNORECASE)
_REQUEST = re.compile(rf"[\s¿]*(?:{_HELP})[\s,.!?;:，。！？~]*", re.IGNORECASE)


def is_greeting(text: str) -> bool:
    """Return whether `text` consists only of greetings or thanks, in any language.

    >>> is_greeting("Hello there!"), is_greeting("Спасибо большое"), is_greeting("hi, how many orders?")
    (True, True, False)
    """
    return _GREETING.fullmatch(text.strip()) is not None


def asks_for_help(text: str) -> bool:
    """Return whether `text` only asks which questions are possible, in any language.

    >>> asks_for_help("What can I ask?"), asks_for_help("Какие есть таблицы?"), asks_for_help("What can I ask Ann?")
    (True, True, False)
    """
    return _REQUEST.fullmatch(text.strip()) is not None


def asks_for_change(text: str) -> bool:
    """Return whether `text` begins, or in German ends, as a request to change data, in any language.

    >>> asks_for_change("Delete all customers"), asks_for_change("Lösche alle Kunden"), asks_for_change("Drop rate?")
    (True, True, False)
    """
    return _CHANGE.match(text.strip()) is not None
