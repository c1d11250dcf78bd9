"""For the reference of Python: `@builtins.property` is a property, too.

A class with a field called `property` writes it so; without this, its properties would be shown as functions to call.
"""

from __future__ import annotations

from typing import Any

import griffe


class Properties(griffe.Extension):
    """Turns functions with that decorator into attributes."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace them once all members of a class are known."""
        for name, member in list(cls.members.items()):
            if isinstance(member, griffe.Function) and any(
                str(decorator.value) == "builtins.property" for decorator in member.decorators
            ):
                cls.set_member(name, as_attribute(member))


def as_attribute(function: griffe.Function) -> griffe.Attribute:
    """The attribute that a property is."""
    attribute = griffe.Attribute(
        function.name, lineno=function.lineno, annotation=function.returns, docstring=function.docstring
    )
    attribute.labels.add("property")
    return attribute
