"""What to do about each kind of validation error."""

REMEDIES = {
    "extra_forbidden": "Leave it out or correct its name; /docs shows the names that are known.",
    "missing": "Send it.",
    "string_type": "Send a string.",
    "string_too_long": "Send at most {max_length} characters.",
    "string_too_short": "Send at least {min_length} character, or leave the field out.",
    "string_pattern_mismatch": "Send a value of the form {pattern}.",
    "int_type": "Send a whole number.",
    "int_from_float": "Send a whole number.",
    "int_parsing": "Send a whole number.",
    "int_parsing_size": "Send a smaller number.",
    "list_type": "Send a list.",
    "too_long": "Send at most {max_length} items.",
    "too_short": "Send at least {min_length} item.",
    "model_attributes_type": 'Send a JSON object, as {{"text": "…"}}.',
    "greater_than_equal": "Send {ge} or more.",
    "less_than_equal": "Send {le} or less.",
    "decision_form": 'Send {{"verdict": "confirmed"}}, {{"verdict": "rejected"}} or {{"kind": "SAME_TEXT"}}.',
    "repeated_part": "Send it once.",
    "missing_file": "Send the book as a part `file` with a filename, as curl does with -F file=@book.epub.",
    "nul": "Remove the character U+0000.",
    "marc_record": "Repair the record, or send it in another form; docs/marc.md says what is taken.",
    "one_of": "Send exactly one of {names}.",
    "not_together": "Leave one of them out.",
    "identifier_form": "Write it as scheme:value, for example isbn:9780141439600.",
}
"""The remedy for each kind of validation error; the context of the error fills the gaps."""
