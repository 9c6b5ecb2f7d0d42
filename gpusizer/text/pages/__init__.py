"""Words of the web page. What the core says itself (errors, notes) is one folder up."""

from gpusizer.text.pages import en, en_method, pt, pt_method, zh, zh_method

EN = {**en.STRINGS, **en_method.STRINGS}
ZH = {**zh.STRINGS, **zh_method.STRINGS}
PT = {**pt.STRINGS, **pt_method.STRINGS}
