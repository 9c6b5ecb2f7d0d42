"""Words of the web page. What the core says itself (errors, notes) is one folder up."""

from gpusizer.text.pages import (
    en,
    en_accuracy,
    en_method,
    en_pictures,
    en_tabs,
    en_tools,
    en_training,
    pt,
    pt_accuracy,
    pt_method,
    pt_pictures,
    pt_tabs,
    pt_tools,
    pt_training,
    zh,
    zh_accuracy,
    zh_method,
    zh_pictures,
    zh_tabs,
    zh_tools,
    zh_training,
)


def _together(*modules: object) -> dict[str, str]:
    """The strings of several modules; a key in two of them is a mistake."""
    strings: dict[str, str] = {}
    for module in modules:
        own: dict[str, str] = module.STRINGS  # type: ignore[attr-defined]
        if repeated := strings.keys() & own.keys():
            raise ValueError(f"in two modules: {sorted(repeated)}")
        strings |= own
    return strings


EN = _together(en, en_accuracy, en_method, en_pictures, en_tabs, en_tools, en_training)
ZH = _together(zh, zh_accuracy, zh_method, zh_pictures, zh_tabs, zh_tools, zh_training)
PT = _together(pt, pt_accuracy, pt_method, pt_pictures, pt_tabs, pt_tools, pt_training)
