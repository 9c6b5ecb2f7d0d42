from gpusizer.text.en import STRINGS as STRINGS
