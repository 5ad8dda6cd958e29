"""Variants of a schema: other orders, columns and spellings, and answers that fit them."""

import re
from importlib.resources import files
from random import Random

from datasphinx.agent.embedded.compact import quoted
from training.augment import augmented
from training.groups import Example, Group

HEAD = (
    "<|im_start|>system\nSQL<|im_end|>\n<|im_start|>user\n"
    "big_cats(cat_id key, cat_name text, coat 'red, dark' 'cat_name', weight number, age number, born date)\n"
    "owners(owner_id key, cat_id number, name text, phone text)\n"
    "owners.cat_id = big_cats.cat_id"
)
GROUP = Group(
    HEAD,
    "pets",
    [
        Example(
            "\n\nWhose cat's coat is cat_name?\nvalues: big_cats.coat = 'cat_name'<|im_end|>\n",
            "FROM owners JOIN big_cats SELECT owners.name WHERE big_cats.coat = 'cat_name'<|im_end|>",
            "spider",
        ),
        Example("\n\nHow heavy?<|im_end|>\n", "FROM big_cats SELECT MAX(weight)<|im_end|>", "spider"),
    ],
)
VARIANTS = [augmented(GROUP, Random(seed)) for seed in range(60)]


def test_there_are_many_variants_and_the_group_itself_among_them() -> None:
    assert GROUP in VARIANTS
    assert len({variant.head for variant in VARIANTS}) > 20
    assert all(variant.head.startswith("<|im_start|>system\nSQL<|im_end|>\n<|im_start|>user\n") for variant in VARIANTS)


def test_what_answers_need_stays_in_the_schema_by_the_name_that_they_use() -> None:
    for variant in VARIANTS:
        schema = variant.head.partition("user\n")[2]
        answers = " ".join(
            re.sub(r"'[^']*'", "", example.answer.removesuffix("<|im_end|>")) for example in variant.examples
        )
        names = {name for name in re.findall(r"\w+", answers) if not name.isupper()}
        assert len(names) == 5
        assert all(re.search(rf"\b{name}\b", schema) for name in names), (names, schema)


def test_columns_that_no_answer_needs_are_left_out_now_and_then() -> None:
    phones = ["phone" in variant.head.lower() for variant in VARIANTS]
    assert any(phones)
    assert not all(phones)


def test_questions_and_texts_stay_as_they_are() -> None:
    for variant in VARIANTS:
        first = variant.examples[0]
        assert first.tail.startswith("\n\nWhose cat's coat is cat_name?\nvalues: ")
        assert "= 'cat_name'<|im_end|>" in first.tail
        assert first.answer.endswith("= 'cat_name'<|im_end|>")
        assert "'red, dark' 'cat_name'" in variant.head


def test_a_schema_with_quoted_names_is_left_as_it_is() -> None:
    quoted = Group(HEAD.replace("weight", '"the weight"'), "pets", GROUP.examples)
    assert all(augmented(quoted, Random(seed)) == quoted for seed in range(10))


def test_words_of_the_schema_become_others_in_the_answers_too() -> None:
    renamed = [variant for variant in VARIANTS if "holder" in variant.head.lower()]
    assert renamed
    for variant in renamed:
        assert re.search(r"\bholders?\b", re.sub(r"[A-Z_]", lambda match: match[0].lower(), variant.examples[0].answer))
        assert variant.examples[0].tail.startswith("\n\nWhose cat's coat is cat_name?")


def test_no_other_word_would_have_to_be_quoted() -> None:
    lines = files("training").joinpath("synonyms.txt").read_text(encoding="utf-8").splitlines()
    assert all(quoted(form) == form for line in lines for word in line.split()[1:] for form in (word, f"{word}s"))
