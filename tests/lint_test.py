#!/usr/bin/env python3
"""lint_test.py SCRIPT: nearly every rule of script/lint, broken once in a small tree of its own, is seen."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = "\n".join(["// A room's file."] * 40) + "\n"
CLEAN = {
    "docs/determinism.md": "`base.Thing.Works`\n",
    "tests/base/thing_test.cpp": "TEST(Thing, Works) {}\n",
    "include/espalier/error.hpp": "#pragma once\n",
    "include/espalier/simplify.hpp": '#pragma once\n#include "espalier/error.hpp"\n',
    "src/base/error.cpp": SOURCE + '#include "espalier/error.hpp"\n#include <vector>\n',
    "src/base/files.hpp": "#pragma once\n",
    "src/synth/simplify.cpp": SOURCE + '#include "base/files.hpp"\n#include "passes.hpp"\n',
    "src/synth/passes.hpp": "#pragma once\n",
    "src/synth/synth_bench.cpp": SOURCE + 'const char* hint = "espalier train life --steps 3";\n',
    "apps/espalier/train_command.cpp": 'const char* hint = "espalier train life --steps 3";\n',
}
BREACHES = [  # a file, a line added to it, words of the complaint
    ("src/base/error.cpp", '#include "synth/passes.hpp"', "base may not include synth"),
    ("src/base/error.cpp", "#include <synth/passes.hpp>", "base may not include synth"),
    ("src/base/error.cpp", '#include "../synth/passes.hpp"', "base may not include synth"),
    ("src/base/error.cpp", '# include "espalier/simplify.hpp"', "base may not include synth"),
    ("src/base/error.cpp", "#include <espalier/simplify.hpp>", "base may not include synth"),
    ("src/base/error.cpp", '#include "base/filse.hpp"', 'no file "base/filse.hpp"'),
    ("include/espalier/error.hpp", "#include <base/files.hpp>", "may not include the private"),
    ("include/espalier/nowhere.hpp", "#pragma once", "a header of no room"),
    ("include/espalier/espalier.hpp", "#pragma once", "does not list"),
    ("src/attic/thing.cpp", SOURCE, "a file of no room"),
    ("src/models/attic/thing.cpp", SOURCE, "a file of no room"),
    ("src/synth/simplify.cpp", "#include <nlohmann/json.hpp>", "JSON belongs"),
    ("src/base/error.cpp", 'const char* hint = "lower --lr";', "knows no command line"),
    ("src/base/error.cpp", 'const char* hint = "`espalier train` makes one";', "knows no command line"),
    ("src/base/error.cpp", 'if (config.task == "life") {}', "compared in the registry alone"),
    ("src/base/error.cpp", "if (name == config.task) {}", "compared in the registry alone"),
    ("src/base/short.cpp", "int x;", "expected at least 40"),
    ("src/base/error.cpp", "int x;\n" * 500, "expected at most 500"),
    ("src/base/error.cpp", "std::random_device device;", "results would depend"),
    ("src/base/error.cpp", "// /" + "home/someone/here", "a path of one machine"),
    ("docs/determinism.md", "`base.Thing.IsMissing`", "no test Thing.IsMissing"),
    ("src/synth/passes.hpp", "struct Twice {\n};\nstruct Twice {\n};", "another type is called Twice"),
    ("script/helper", "#!/bin/sh", "cannot be executed"),
]
INNOCENT = [
    ("src/base/error.cpp", 'const char* format = "espalier train 1";'),
    ("src/base/error.cpp", "// espalier train --lr 3"),
    ("src/base/error.cpp", "int x = y--; if (a == task->steps) {}"),
]


def write(tree, path, text):
    target = tree / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "a", encoding="utf-8") as file:
        file.write(text)


def complaints(lint, extra):
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        subprocess.run(["git", "init", "-q", folder], check=True)
        for path, text in CLEAN.items():
            write(tree, path, text)
        for path, text in extra:
            write(tree, path, text + "\n")
        (tree / "script").mkdir(exist_ok=True)
        shutil.copy(lint, tree / "script/lint")
        done = subprocess.run([tree / "script/lint", "--without-format"], capture_output=True, text=True)
        return done.returncode, done.stderr


failures = []
code, said = complaints(sys.argv[1], INNOCENT)
if code != 0:
    failures.append(f"a tree that keeps the rules: {said}")
for path, text, words in BREACHES:
    code, said = complaints(sys.argv[1], [(path, text)])
    if code != 1 or words not in said:
        failures.append(f"{path} with {text[:60]!r}: expected \"{words}\", got exit code {code} and\n{said}")
print("\n".join(failures) or f"{len(BREACHES)} breaches seen")
sys.exit(1 if failures else 0)
