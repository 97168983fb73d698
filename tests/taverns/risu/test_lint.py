"""What lint says of an entry's decorators."""

from innkeeper.content import Lorebook
from innkeeper.taverns.risu.lint import lint_fields


def test_decorators_without_effect() -> None:
    """Each with its line in the entry, and the name that was meant."""
    book = Lorebook.of({"entries": [{"keys": ["a"], "content": "\n@@deph 4\n@@role x\nK", "enabled": True}]})
    findings = [(one.line, one.message, one.hint) for one in lint_fields({"lorebooks": [book]}, None, None)]
    assert findings == [
        (2, "'@@deph 4' is no decorator that has an effect", "did you mean @@depth?"),
        (3, "'@@role x' has no effect with these arguments", None),
    ]
