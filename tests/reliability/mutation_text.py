# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a C++ text in which each mutation is a switch: what mutation.py compiles.

The text is read as clang-format leaves it: an operator of two operands has white space on both sides, which a bracket of a
template has not, and the brace of a body has a space before it, which that of an initializer has not. Expressions become
`(zarrpoint_mutated(7) ? (mutated) : (as it was))`, statements `if (zarrpoint_mutated(7)) ... else ...`. Each alternative has a
line of its own, so that the compiler tells which of them does not compile.
"""

import re

SWITCH = "zarrpoint_mutated(%d)"
OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "&&": "||", "||": "&&",
             "+=": "-=", "-=": "+="}
OPERATOR = re.compile(r"(?<=\s)(<=|>=|==|!=|&&|\|\||\+=|-=|<|>|\+|-)(?=\s)")
NUMBER = re.compile(r"(?<![\w.'<])(0[xX][0-9a-fA-F']+|\d[\d']*)([uUlLzZ]*)(?![\w.'>])")
TRUTH = re.compile(r"\b(true|false)\b")
NOT = re.compile(r"(?<![\w!)])!(?![=!])")
EXTREME = re.compile(r"\bstd::(min|max)\b")
DECLARATION = re.compile(r"(const|auto|static|unsigned|struct|thread_local)\b|[\w:]+(<.*?>)?[&*]*\s+[\w*&\[]", re.DOTALL)
UNTOUCHED = re.compile(r"(using|static_assert|constexpr|static constexpr|typedef|break|continue|goto)\b")
NAME = re.compile(r"(operator\s*[^\s(]+|operator\(\)|~?\w+(?:::~?\w+)*)\s*\(")


def blanked(text, quotes=True):
    """The text with spaces in place of comments and directives, and without what stands in quotes."""
    out = list(text)
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
                       r"|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
    for found in token.finditer(text):
        keep = found.group().startswith(("\"", "'", "R\""))
        if keep and not quotes:
            continue
        for i in range(found.start() + keep, found.end() - keep):
            if out[i] != "\n":
                out[i] = " " if not keep else "_"
    return "".join(out)


class Mutation:
    def __init__(self, number, function, line, text, what):
        self.number, self.function, self.line, self.text, self.what = number, function, line, text, what


class Text:
    """`wanted`: the names of functions, or None for all; `first`: the number of the first mutation; `dropped`: keys of those
    that do not compile."""

    def __init__(self, text, wanted, first, dropped=()):
        self.text, self.blank, self.bare = text, blanked(text), blanked(text, False)
        self.wanted, self.next, self.dropped = wanted, first, dropped
        self.function, self.seen = "", {}
        self.found, self.named, self.lines = [], set(), set()
        self.out = self.scope(0, len(text))

    # What is where.

    def match(self, i):
        """The index of the bracket that closes the one at `i`."""
        depth = 0
        for j in range(i, len(self.blank)):
            if self.blank[j] in "([{":
                depth += 1
            elif self.blank[j] in ")]}":
                depth -= 1
                if depth == 0:
                    return j
        raise ValueError("unbalanced")

    def skip(self, i, end):
        while i < end and self.blank[i].isspace():
            i += 1
        return i

    def end_of(self, i, end, mark=";"):
        """The index of the first `mark` outside of brackets."""
        while i < end:
            if self.blank[i] in "([{":
                i = self.match(i)
            elif self.blank.startswith(mark, i):
                return i
            i += 1
        return end

    def line_of(self, i):
        return self.text.count("\n", 0, i) + 1

    def line_text(self, i):
        first = self.text.rfind("\n", 0, i) + 1
        last = self.text.find("\n", i)
        return " ".join(self.text[first:last if last >= 0 else len(self.text)].split())

    def new(self, at, what):
        """A number for the mutation `what` at the index `at`; None if it was dropped."""
        line, text = self.line_of(at), self.line_text(at)
        key = (self.function, text, what)
        same = self.seen[key] = self.seen.get(key, 0) + 1
        if same > 1:
            what += " (%d)" % same
        if (self.function, text, what) in self.dropped:
            return None
        self.found.append(Mutation(self.next, self.function, line, text, what))
        self.next += 1
        return self.next - 1

    # Scopes of declarations.

    def scope(self, i, end):
        out, header = [], i
        while i < end:
            c = self.blank[i]
            if c == ";":
                header = i + 1
            elif c in "([":
                close = self.match(i)
                out.append(self.text[i:close])
                i = close
            elif c == "{":
                close = self.match(i)
                words = self.blank[header:i]
                bare = re.sub(r"template\s*<.*?>\s*(?=\w)", "", words, flags=re.DOTALL).strip()
                name = NAME.search(bare.replace("ZARRPOINT_INLINE", ""))
                if re.match(r"(inline\s+)?namespace|extern", bare) or (re.match(r"(class|struct)\b", bare) and not name):
                    out.append("{" + self.scope(i + 1, close))
                    header = close + 1
                elif name and self.blank[i - 1].isspace() and not re.search(r"=\s*$", words):
                    out.append("{" + self.body(name.group(1), words, i + 1, close))
                    header = close + 1
                else:
                    out.append(self.text[i:close])
                i = close
            out.append(self.text[i])
            i += 1
        return "".join(out)

    def body(self, name, header, i, end):
        if self.wanted is not None and name not in self.wanted or re.search(r"\b(constexpr|consteval)\b", header):
            return self.text[i:end]
        self.named.add(name)
        self.function = name
        for at in range(i, end):
            if self.blank[at].isalnum():
                self.lines.add(self.line_of(at))
        return self.block(i, end)

    # Statements.

    def block(self, i, end):
        out = []
        while True:
            after = self.skip(i, end)
            out.append(self.text[i:after])
            if after >= end:
                return "".join(out)
            made, i = self.statement(after, end)
            out.append(made)

    def statement(self, i, end):
        """Its text with switches, and where it ends."""
        word = re.match(r"\w*", self.blank[i:i + 40]).group()
        if self.blank[i] == "{":
            close = self.match(i)
            return "{" + self.block(i + 1, close) + "}", close + 1
        if self.blank[i] == ";":
            return ";", i + 1
        if word in ("if", "while", "switch", "for"):
            return self.control(word, i, end)
        if word == "do":
            body, at = self.statement(self.skip(i + 2, end), end)
            stop = self.end_of(at, end)
            return "do " + body + self.text[at:stop] + ";", stop + 1
        if word in ("case", "default"):
            stop = i
            while not (self.blank[stop] == ":" and self.blank[stop - 1] != ":" and self.blank[stop + 1] != ":"):
                stop += 1
            rest, at = self.statement(self.skip(stop + 1, end), end)
            return self.text[i:stop + 1] + " " + rest, at
        stop = self.end_of(i, end)
        if UNTOUCHED.match(self.blank, i) or (word == "struct" and "=" not in self.blank[i:stop]):
            return self.text[i:stop + 1], stop + 1
        if word == "return":
            return self.alternatives(i, stop, self.expression(i + 6, stop), None), stop + 1
        if word == "ZARRPOINT_TRY":
            open_ = self.blank.index("(", i)
            comma = self.end_of(open_ + 1, stop, ",")
            return self.text[i:comma + 1] + self.ternary(comma + 1, self.match(open_)) + ");", stop + 1
        if DECLARATION.match(self.blank, i) and not self.blank.startswith("::", i) and word != "static_cast":
            equal = self.end_of(i, stop, " = ")
            if equal == stop or self.blank[self.skip(equal + 3, stop)] == "{":
                return self.with_bodies(i, stop) + ";", stop + 1
            return self.text[i:equal + 3] + self.ternary(equal + 3, stop) + ";", stop + 1
        left_out = self.new(i, "left out")
        return self.alternatives(i, stop, self.expression(i, stop), left_out), stop + 1

    def alternatives(self, i, stop, found, left_out):
        """A statement as `if`s: no type has to be the same, and nothing is copied."""
        base = self.with_bodies(i, stop)
        if not found and left_out is None:
            return base + ";"
        out = ["{"]
        for number, at, to, instead in found:
            out.append("if (%s) {%s;} else" % (SWITCH % number, self.changed(i, stop, (at, to, instead))))
        if left_out is not None:
            out.append("if (%s) {} else" % (SWITCH % left_out))
        return "\n".join(out + [base + "; }"])

    def changed(self, i, end, change=None):
        """A piece in one line, without comments."""
        at, to, instead = change or (i, i, "")
        return " ".join((self.bare[i:at] + instead + self.bare[to:end]).split("\n"))

    def control(self, word, i, end):
        open_ = self.blank.index("(", i)
        close = self.match(open_)
        head = self.text[i:open_ + 1]
        is_constant = "constexpr" in self.blank[i:open_]
        at = self.skip(close + 1, end)
        attribute = ""
        if self.blank.startswith("[[", at):
            stop = self.match(at) + 1
            attribute = " " + self.text[at:stop]
            at = self.skip(stop, end)
        returns = self.blank.startswith("return", at) or re.match(r"\{\s*return\b", self.blank[at:at + 40]) is not None
        if is_constant or word == "switch" or self.blank[open_ + 1:close] == "true":
            condition = self.text[open_ + 1:close]
        elif word == "for":
            condition = self.loop(open_ + 1, close)
        else:
            condition = self.condition(open_ + 1, close, word == "if", returns)
        body, at = self.statement(at, end)
        out = head + condition + ")" + attribute + " " + body
        after = self.skip(at, end)
        if word == "if" and re.match(r"else\b", self.blank[after:after + 5]):
            other, at = self.statement(self.skip(after + 4, end), end)
            out += " else " + other
        return out, at

    def loop(self, i, end):
        first = self.end_of(i, end)
        if first == end:  # over a range
            return self.text[i:end]
        second = self.end_of(first + 1, end)
        return self.text[i:first + 1] + (self.condition(first + 1, second, False, False) if self.blank[first + 1:second].strip()
                                         else "") + self.text[second:end]

    def condition(self, i, end, is_if, returns):
        last = self.end_of(i, end)
        before = ""
        if last != end:
            before = self.with_bodies(i, last) + ";"
            i = last + 1
        equal = self.end_of(i, end, " = ")
        if equal != end:  # it declares what it asks
            name = re.search(r"(\w+)\s*$", self.blank[i:equal])
            if not is_if or before or name is None:
                return before + self.text[i:end]
            value = "static_cast<bool>(%s)" % name.group(1)
            out = self.text[i:equal + 3] + self.ternary(equal + 3, end) + "; "
            for what, text in ("negated", "!" + value), ("never", "false"):
                number = self.new(i, what)
                if number is not None:
                    out += "\n%s ? %s :" % (SWITCH % number, text)
            return out + " " + value
        more = []
        if is_if:
            more.append(("negated", "!(%s)" % self.changed(i, end)))
        if returns:
            more.append(("never", "((%s) && false)" % self.changed(i, end)))
        return before + self.ternary(i, end, more)

    # Expressions.

    def bodies(self, i, end):
        """Where the bodies of lambdas in an expression begin."""
        while i < end:
            if self.blank[i] == "{":
                before = self.blank[:i].rstrip()
                if self.blank[i - 1].isspace() and before[-1] not in "=,(" and not re.search(r"\breturn$", before[-7:]):
                    yield i
                    i = self.match(i)
            i += 1

    def with_bodies(self, i, end):
        out, at = [], i
        for body in list(self.bodies(i, end)):
            close = self.match(body)
            out.append(self.text[at:body + 1] + self.block(body + 1, close))
            at = close
        return "".join(out) + self.text[at:end]

    def expression(self, i, end):
        """The mutations of an expression: number, first index, last index, text in between."""
        inside = [(body, self.match(body)) for body in self.bodies(i, end)]
        candidates = []
        for found in OPERATOR.finditer(self.blank, i - 1, end + 1):
            operator = found.group()
            sides = self.text[:found.start()].rstrip()[-1:] + self.text[found.end():].lstrip()[:1]
            if operator in "+-" and '"' in sides:
                continue  # texts are joined
            candidates.append((found.start(), found.end(), OPERATORS[operator], "%s to %s" % (operator, OPERATORS[operator])))
        for found in NUMBER.finditer(self.blank, i, end):
            candidates.append((found.start(), found.end(), "(%s + 1)" % found.group(), "%s + 1" % found.group()))
        for found in TRUTH.finditer(self.blank, i, end):
            other = "false" if found.group() == "true" else "true"
            candidates.append((found.start(), found.end(), other, "%s to %s" % (found.group(), other)))
        for found in NOT.finditer(self.blank, i, end):
            candidates.append((found.start(), found.end(), "!!", "! left out"))
        for found in EXTREME.finditer(self.blank, i, end):
            other = "max" if found.group(1) == "min" else "min"
            candidates.append((found.start(1), found.end(1), other, "%s to %s" % (found.group(1), other)))
        out = []
        for at, to, instead, what in sorted(candidates):
            if at < i or to > end or any(first < at < last for first, last in inside):
                continue
            number = self.new(at, what)
            if number is not None:
                out.append((number, at, to, instead))
        return out

    def ternary(self, i, end, more=()):
        found = self.expression(i, end) if not (more and NOT.match(self.blank, self.skip(i, end)) and
                                                re.fullmatch(r"\s*![\w.>*()-]*\s*", self.blank[i:end])) else []
        base = self.with_bodies(i, end)
        if more:  # both of a conditional operator have one type
            base = "static_cast<bool>(%s)" % base
        out = []
        for number, at, to, instead in found:
            out.append("\n%s ? (%s) :" % (SWITCH % number, self.changed(i, end, (at, to, instead))))
        for what, text in more:
            number = self.new(self.skip(i, end), what)
            if number is not None:
                out.append("\n%s ? (%s) :" % (SWITCH % number, text))
        return base if not out else "(" + "".join(out) + "\n(" + base + "))"
