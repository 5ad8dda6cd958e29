"""Text files as other programs write them: code pages, broken sequences, stray quotes, ragged rows."""

import pytest

from datasphinx.agent.datasets.options import LoadOptions

WORDS = {
    "cp1252": ["José", "Zürich", "20 °C", "100 µg", "it’s", "5 €", "£5", "Ærøskøbing", "café – bar"],
    "cp1250": ["Żabka w Łodzi", "Plzeň, České Budějovice, Kroměříž"],
    "cp1251": ["Анна", "Москва и Казань"],
    "cp1253": ["Θεσσαλονίκη"],
    "cp1254": ["Eskişehir, Muğla"],
    "cp1257": ["Šiauliai, Panevėžys, Klaipėda"],
    "cp1255": ["ירושלים"],
    "cp1256": ["القاهرة"],
    "cp866": ["Москва и Казань"],
    "koi8_r": ["Москва и Казань"],
    "mac_roman": ["Málaga, Logroño, Cádiz"],
    "cp850": ["Straße, München, Köln"],
    "cp874": ["กรุงเทพ"],
    "big5": ["臺北, 銷售額"],
    "cp949": ["서울, 부산"],
    "cp932": ["東京, 大阪", "さくら"],
    "gb18030": ["上海, 退货数量"],
}


@pytest.mark.parametrize(
    ("encoding", "word"),
    [
        pytest.param(name, word, marks=[pytest.mark.heavy] if number else [])
        for name, words in WORDS.items()
        for number, word in enumerate(words)
    ],
)
def test_words_are_read_in_the_encoding_that_spells_them(encoding: str, word: str, load) -> None:
    loaded = load("a.csv", f'id,name\n1,"{word}"\n2,Bob\n3,Ann\n'.encode(encoding))

    assert loaded.rows[0] == [1, word]
    assert ("encoding_guessed", "") in loaded.warnings


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-16-be"])
def test_wide_encodings_need_no_guess(encoding: str, load) -> None:
    loaded = load("a.csv", "город,n\nОмск,1\nЯя,2\n".encode(encoding))

    assert loaded.rows == [["Омск", 1], ["Яя", 2]]
    assert ("encoding_guessed", "") not in loaded.warnings


def test_one_bad_byte_leaves_utf8(load) -> None:
    loaded = load("a.csv", "id,город\n1,Омск\n2,Тверь\n3,П?рмь\n".encode().replace(b"?", b"\xff"))

    assert [row[1] for row in loaded.rows] == ["Омск", "Тверь", "П\ufffdрмь"]
    assert ("replaced_characters", "") in loaded.warnings


def test_encoding_and_delimiter_are_options(load) -> None:
    content = "id^имя\n1^Ян\n2^Ия\n".encode("mac_cyrillic")

    assert load("a.csv", content, encoding="mac_cyrillic", delimiter="^").rows == [[1, "Ян"], [2, "Ия"]]


@pytest.mark.parametrize(
    "given", [{"encoding": "rot13"}, {"encoding": "none"}, {"delimiter": "ab"}, {"delimiter": "1"}]
)
def test_unknown_encodings_and_delimiters_are_refused(given) -> None:
    with pytest.raises(ValueError, match="encoding|delimiter"):
        LoadOptions.model_validate(given)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('id,item,n\n1,a,5\n2,"b,6\n3,c,7\n4,d,8\n', [[1, "a", 5], [2, '"b', 6], [3, "c", 7], [4, "d", 8]]),
        ('id,item,n\n1,"5" pipe",5\n2,b,6\n3,"7" pipe",7\n', [[1, '5" pipe', 5], [2, "b", 6], [3, '7" pipe', 7]]),
        ('id,item,n\n1,"a,5\n2,b,6\n3,c",7\n4,d,8\n', [[1, '"a', 5], [2, "b", 6], [3, 'c"', 7], [4, "d", 8]]),
        ('id,item,n\n1,"a\nb",5\n2,"c,6\n3,d,7\n', [[1, "a\nb", 5], [2, '"c', 6], [3, "d", 7]]),
    ],
)
def test_stray_quotes_keep_every_row(content: str, rows, load) -> None:
    loaded = load("a.csv", content.encode())

    assert loaded.rows == rows
    assert ("stray_quotes", "") in loaded.warnings


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (r"id,item,n" "\n" r"1,Tea\, green,5" "\n2,Rum,6\n", [[1, "Tea, green", 5], [2, "Rum", 6]]),
        (
            r"id,item,n" "\n" r'1,"the \"best\", they say",5' "\n2,Rum,6\n",
            [[1, 'the "best", they say', 5], [2, "Rum", 6]],
        ),
        ("id,item,n\n1,'a, b',5\n2,'c',6\n", [[1, "a, b", 5], [2, "c", 6]]),
        ('"id,item,n"\n"1,""a, b"",5"\n"2,c,6"\n', [[1, "a, b", 5], [2, "c", 6]]),
        (
            '"id,item,n"\n' + '"1,tea,5"\n' * 400 + '2,rum,6\n3,"a, b",7\n',
            [[1, "tea", 5]] * 400 + [[2, "rum", 6], [3, "a, b", 7]],
        ),
        ('"who"\n"Ann, Bo"\n"Cy, Di"\n', [["Ann, Bo"], ["Cy, Di"]]),
        ('"who, whom"\n"Ann, Bo"\n"Cy, Di"\n', [["Ann, Bo"], ["Cy, Di"]]),
        ('"a";"b"\n"1";"2"\n', [[1, 2]]),
        ("id,item,n\n1,it's,5\n2,o'clock,6\n", [[1, "it's", 5], [2, "o'clock", 6]]),
        ("id,path,n\n1,C:\\dir\\,5\n2,D:\\,6\n", [[1, "C:\\dir\\", 5], [2, "D:\\", 6]]),
    ],
)
def test_other_quotes_and_escapes(content: str, rows, load) -> None:
    assert load("a.csv", content.encode()).rows == rows


def test_decimal_commas_are_no_delimiters(load) -> None:
    lines = "".join(f"0{day}.01.2025;Rent;-{day},98{';' * (day % 2)}\n" for day in range(1, 9))
    loaded = load("a.csv", f"Booked;Payee;Amount\n{lines}".encode())

    assert loaded.dataset.report.delimiter == ";"
    assert [row[2] for row in loaded.rows] == [-day - 0.98 for day in range(1, 9)]


@pytest.mark.parametrize("content", [b"who,n\nA\0nn,1\nBo,2\n", b"who,n\nAnn,1\0\0\nBo,2\n", b"who,n\nAnn,1\nBo,2\n\0"])
def test_some_zeros_in_a_text_do_not_make_it_utf_16(content, load) -> None:
    assert load("a.csv", content).rows == [["Ann", 1], ["Bo", 2]]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("text", ["who,n\nAnn,1\nBo,2\n", "名前,n\n山田さん,1\n鈴木さん,2\n"])
def test_wide_text_without_a_mark_is_read(encoding, text, load) -> None:
    assert [row[1] for row in load("a.csv", text.encode(encoding)).rows] == [1, 2]
