"""Makes the pictures of the page in the README, of those that the tests of the page have made under `build`."""

from PIL import Image

from tests.generated_docs import ROOT

_COLOURS = 96


def main() -> None:
    """Write `docs/page-light.png` and `docs/page-dark.png`."""
    for name in ("light", "dark"):
        with Image.open(ROOT / f"build/screenshots/{name}.png") as picture:
            small = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        small.save(ROOT / f"docs/page-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
