"""Words of the web page. What the core says itself (errors, notes) is one folder up."""

from gpusizer.text.pages import (
    en,
    en_accuracy,
    en_method,
    en_pictures,
    pt,
    pt_accuracy,
    pt_method,
    pt_pictures,
    zh,
    zh_accuracy,
    zh_method,
    zh_pictures,
)

EN = {**en.STRINGS, **en_method.STRINGS, **en_accuracy.STRINGS, **en_pictures.STRINGS}
ZH = {**zh.STRINGS, **zh_method.STRINGS, **zh_accuracy.STRINGS, **zh_pictures.STRINGS}
PT = {**pt.STRINGS, **pt_method.STRINGS, **pt_accuracy.STRINGS, **pt_pictures.STRINGS}
