"""From a plan to an answer: clients, runner, tools, directives, output tags."""
