"""Names of fields as names of columns."""

from hypothesis import given
from hypothesis import strategies as st

from datascrub.rules.columns import field_of, struct
from datascrub.rules.expression import quoted


@given(st.text(min_size=1, max_size=20))
def test_a_column_leads_back_to_its_field(name: str) -> None:
    """Every name is a column's, and the column tells the name."""
    column = struct(name)
    assert column == quoted(column[1:-1].replace('""', '"'))
    assert field_of(column[1:-1].replace('""', '"')) == name


@given(st.text("aAbB.01", min_size=1, max_size=6), st.text("aAbB.01", min_size=1, max_size=6))
def test_no_two_names_share_a_column(one: str, other: str) -> None:
    """Two names that differ have columns that differ, whatever the case of letters."""
    assert one == other or struct(one).lower() != struct(other).lower()
