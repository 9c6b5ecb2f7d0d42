"""Parsers of pasted output of programs about a machine, a module for each maker or system.

`reading.read_reports` is the entry. A text is a stranger's: it is cut, cleaned and searched with
bounded patterns.
"""
