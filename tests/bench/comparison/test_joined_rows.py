"""Rows of some methods measured anew stand among those that were kept."""

from bench.comparison.compared_methods import compared_methods
from bench.comparison.methods import joined
from bench.harness.report import Table


def test_new_rows_replace_old_ones_in_the_order_of_the_methods() -> None:
    methods = compared_methods()["Bookprint"][:3]
    first, second, third = (each.method.name for each in methods)
    old = Table(["method", "copies"], [["all", 1], [second, 2], [first, 3]])
    new = Table(["method", "copies"], [["all", 9], [third, 4], [first, 5]])
    assert joined(new, old, methods).rows == [["all", 9], [first, 5], [second, 2], [third, 4]]
