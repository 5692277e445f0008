#!/usr/bin/env python3
"""Writes kinds.txt, the description of every kind that trueup reads, from a file of facts.

Usage: compact.py FACTS > kinds.txt

FACTS has one JSON object a line: the kinds, messages and enums of the vendor's API with what is known of each field.
A kind has three messages (create, replace, get); here they become one tree. README.md describes what is written.
"""
import json
import os
import sys

OPERATIONS = "crg"
# The type in an operation that has no fields where another operation has a message.
EMPTY = "{}"
LOWER = ("min", "min_len", "min_bytes", "min_items", "min_pairs", "min_ip_prefix_length")
UPPER = ("max", "max_len", "max_bytes", "max_items", "max_pairs", "max_ports", "max_ip_prefix_length")


def overrides():
    """What is known beyond the facts: the words to add to a field or group, and what it is for, by message and name."""
    found = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "overrides.txt"), encoding="utf-8") as file:
        for line in file:
            words, _, meaning = line.partition(" -- ")
            words = words.split("#")[0].split()
            if len(words) > 1:
                added, known = found.setdefault((words[0], words[1]), ([], []))
                added += words[2:]
                known += [meaning.strip()] if meaning else []
    return found


OVERRIDES = overrides()


def widest(rules, others):
    """Rules that both sources would accept: the wider of two bounds, and no rule that only one of them knows."""
    wide = {}
    for rule, value in rules.items():
        other = others.get(rule)
        if rule in LOWER and other is not None:
            wide[rule] = min(value, other)
        elif rule in UPPER and other is not None:
            wide[rule] = max(value, other)
        elif value == other:
            wide[rule] = value
        elif isinstance(value, dict) and isinstance(other, dict):
            wide[rule] = widest(value, other)
    return wide


def rules_of(field):
    rules = {rule: value for rule, value in field.get("rules", {}).items() if rule != "other"}
    published = field.get("openapi", {})
    return widest(rules, published["rules"]) if "rules" in published else rules


def spelled(rules, prefix=""):
    """Rules as words: `max=5`, `unique`, `in=TCP,UDP`, and those of the parts as `items.max_len=5`."""
    words = []
    for rule, value in sorted(rules.items()):
        if isinstance(value, dict):
            words += spelled(value, prefix + rule + ".")
        elif value is True:
            words.append(prefix + rule)
        else:
            parts = value if isinstance(value, list) else [value]
            # A space would end the word, so a pattern has `\\x20`; and `\\x00`, because not every syntax has `\\0`.
            text = ",".join(spelled_range(part) for part in parts).replace(" ", "\\x20").replace("\\0", "\\x00")
            words.append("%s%s=%s" % (prefix, rule, text))
    return words


def spelled_range(part):
    return "..".join(str(end) for end in part) if isinstance(part, list) else str(part)


def is_required(field):
    return field.get("required", False) and field.get("openapi", {}).get("required", True)


def type_of(field, message):
    name = field["type"]
    if name == "map":
        value = field["value"]
        return "map<%s>" % (message if value == "message" else "=" + field["of"] if value == "enum" else value)
    if name == "message":
        name = message
    elif name == "enum":
        name = "=" + field["of"]
    elif name == "empty":
        name = "{}"
    return name + "[]" if field.get("list") else name


class Tree:
    """The joined messages, each written once."""

    def __init__(self, messages):
        self.messages = messages
        self.lines = {}
        self.names = {}
        self.enums = set()

    def join(self, triple):
        """The name of the message that joins those of create, replace and get; one of them may be missing."""
        known = tuple(dict.fromkeys(name for name in triple if name))
        same = len(known) == 1
        name = known[0] if same else known[0] + "+"
        if self.names.setdefault(name, known) != known:
            sys.exit("two messages would be called " + name)
        if name in self.lines:
            return name
        lines = self.lines[name] = []
        sides = [self.messages[one] if one else None for one in triple]
        there = [(letter, side) for letter, side in zip(OPERATIONS, sides) if side]
        groups, members = self.groups(name, sides)
        lines += groups
        fields = {}
        for letter, side in there:
            for field in side.get("fields", []):
                fields.setdefault(field["name"], {})[letter] = field
        served = []
        for key, by_letter in fields.items():
            letters = "".join(by_letter)
            if "g" not in (letters, by_letter.get("g", {}).get("ops") if same else None):
                line = self.field(name, key, by_letter, "".join(letter for letter, _ in there), same)
                # An option without fields and further facts has no line of its own.
                if line != key + " {}" or key not in members:
                    lines.append("  " + line)
            elif "".join(letter for letter, _ in there) != "g":
                served.append(key)
        order = [word.split("=")[1].split(",") for word in OVERRIDES.pop((name, "*"), ([], []))[0]]
        for keys in order:
            place = {key: at for at, key in enumerate(keys)}
            lines[len(groups):] = sorted(lines[len(groups):], key=lambda line: place.get(line.split()[0], len(place)))
        if served:
            lines.append("  <" + " ".join(served))
        return name

    def field(self, name, key, by_letter, there, same):
        first = next(iter(by_letter.values()))
        message = None
        if first.get("of") in self.messages:
            of = {letter: one.get("of", EMPTY if one["type"] == "empty" else None) for letter, one in by_letter.items()}
            below = tuple(of.get(letter) for letter in OPERATIONS)
            message = "." + self.join(below)
        elif "of" in first:
            self.enums.add(first["of"])
        words = [key, type_of(first, message)]
        letters = "".join(by_letter)
        if not same and letters != there:
            words += [word for letter, word in (("r", "create_only"), ("c", "replace_only"), ("g", "unanswered"))
                      if letter in there and letter not in letters]
        if is_required(first):
            words.append("required")
        added, meaning = OVERRIDES.pop((name, key), ([], []))
        words += [word for word in added if "=" not in word]
        words += [flag for flag in ("secret", "immutable", "read_only", "deprecated", "internal") if first.get(flag)]
        if first.get("refs"):
            words.append("to=" + ",".join(sorted(first["refs"])))
        rules = spelled(rules_of(first))
        rules += [word for word in added if "=" in word]
        return " ".join(words + sorted(rules) + ["-- " + text for text in meaning])

    def groups(self, message, sides):
        """Groups are those of create, then of replace, with the members of all; never those of get alone."""
        found = {}
        for side in sides[:2] if sides[0] or sides[1] else sides:
            for group in (side or {}).get("groups", []):
                found.setdefault(group["name"], (group, []))
        for side in sides:
            for group in (side or {}).get("groups", []):
                if group["name"] in found:
                    members = found[group["name"]][1]
                    members += [member for member in group["members"] if member not in members]
        lines = []
        for name, (group, members) in found.items():
            added, _ = OVERRIDES.pop((message, "|" + name), ([], []))
            names = [word[len("name="):] for word in added if word.startswith("name=")]
            words = ["  |" + (names or [name])[0]]
            words += [flag for flag in ("required", "needed", "fill", "immutable") if group.get(flag) or flag in added]
            defaults = [word for word in added if word.startswith("default=")]
            words += [word for word in defaults or ["default=" + group.get("default", "")] if word != "default="]
            lines.append(" ".join(words) + ": " + " ".join(members))
        return lines, {member for _, members in found.values() for member in members}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    messages = {row["message"]: row for row in rows if "message" in row} | {EMPTY: {"fields": []}}
    enums = {row["enum"]: row for row in rows if "enum" in row}
    kinds = sorted((row for row in rows if "kind" in row), key=lambda row: row["kind"])
    tree = Tree(messages)
    out = ["# The kinds of the API. Written by compact.py: README.md says from what, and how to read it.\n"]
    for kind in kinds:
        root = tree.join((kind["create"], kind["replace"], kind["get"]))
        path = kind["paths"]["create"].split(" ")[1]
        words = ["kind " + kind["kind"], path.split("/namespaces/")[0], kind["plural"], "." + root]
        if kind.get("namespaces", ["any"]) != ["any"]:
            words.append("in=" + ",".join(kind["namespaces"]))
        if kind.get("view"):
            words.append("view")
        if kind.get("children"):
            words.append("children=" + ",".join(sorted(kind["children"])))
        if kind["source"] == "openapi":
            words.append("weak")
        words += OVERRIDES.pop(("kind", kind["kind"]), ([], []))[0]
        out.append(" ".join(words) + "\n")
    for name in sorted(tree.enums):
        enum = enums[name]
        values = ["%s=%s" % (value, "" if number is None else number) for value, number in enum["values"]]
        out.append("enum %s %s\n" % (name, " ".join(values)))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "metadata.txt"), encoding="utf-8") as file:
        out.append(file.read())
    for name in sorted(tree.lines):
        out.append("\n".join(["message " + name] + tree.lines[name]) + "\n")
    if OVERRIDES:
        sys.exit("overrides.txt names what no message has: %s" % sorted(OVERRIDES))
    sys.stdout.write("".join(out))


if __name__ == "__main__":
    main()
