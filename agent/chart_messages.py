"""The texts about charts, in English, Russian and Chinese; `agent.messages` has them among its own."""

from typing import Literal

CHART_TEXTS: dict[str, dict[Literal["en", "ru", "zh"], str]] = {
    "plot_spec_invalid": {
        "en": "This chart cannot be drawn from the result. Correct what is wrong and ask again: {problems}.",
        "ru": "Такой график нельзя построить по результату. Исправьте ошибки и повторите: {problems}.",
        "zh": "无法根据该结果绘制此图表。请改正后重试：{problems}。",
    },
    "chart_other": {"en": "other", "ru": "прочее", "zh": "其他"},
    "chart_rest_added": {
        "en": "Of {count} values of {column}, the {shown} largest are shown; the others are added up as “{other}”.",
        "ru": "Из {count} значений «{column}» показаны наибольшие ({shown}); остальные сложены в «{other}».",
        "zh": "{column} 共有 {count} 个值，仅显示最大的 {shown} 个，其余合计为“{other}”。",
    },
    "chart_rest_joined": {
        "en": "Of {count} values of {column}, the {shown} with the most rows are shown; the others are joined as “{other}”.",
        "ru": "Из {count} значений «{column}» показаны самые частые ({shown}); остальные объединены в «{other}».",
        "zh": "{column} 共有 {count} 个值，仅显示行数最多的 {shown} 个，其余并入“{other}”。",
    },
    "chart_largest": {
        "en": "Of {count} values of {column}, only the {shown} largest are shown.",
        "ru": "Из {count} значений «{column}» показаны только наибольшие ({shown}).",
        "zh": "{column} 共有 {count} 个值，仅显示最大的 {shown} 个。",
    },
    "chart_sampled": {
        "en": "{shown} of {count} points are shown: the first, the last, the extremes, and others evenly spread.",
        "ru": "Показано {shown} точек из {count}: первая, последняя, крайние значения и равномерно выбранные.",
        "zh": "共 {count} 个点，显示其中 {shown} 个：首尾、极值以及均匀选取的点。",
    },
    "chart_left_out": {
        "en": "Values that cannot be drawn as numbers were left out: {count}.",
        "ru": "Пропущены значения, которые нельзя показать как числа: {count}.",
        "zh": "已略去无法作为数字绘制的值：{count} 个。",
    },
    "chart_glyphs_missing": {
        "en": "Characters that no installed font has are drawn as \ufffd: {count}. Install a font for them.",
        "ru": "Символы, которых нет ни в одном установленном шрифте, заменены на \ufffd: {count}. Установите нужный шрифт.",
        "zh": "已安装的字体中缺少 {count} 个字符，以 \ufffd 代替。请安装相应字体。",
    },
}
