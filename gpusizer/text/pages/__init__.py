"""Words of the web page. What the core says itself (errors, notes) is one folder up."""

from gpusizer.text.pages import (
    en,
    en_accuracy,
    en_method,
    pt,
    pt_accuracy,
    pt_method,
    zh,
    zh_accuracy,
    zh_method,
)

EN = {**en.STRINGS, **en_method.STRINGS, **en_accuracy.STRINGS}
ZH = {**zh.STRINGS, **zh_method.STRINGS, **zh_accuracy.STRINGS}
PT = {**pt.STRINGS, **pt_method.STRINGS, **pt_accuracy.STRINGS}
