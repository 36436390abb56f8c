"""extract.py PAGE FOLDER: writes the C++ programs of a page into a folder, one file each, and prints their names."""
import pathlib
import re
import sys

page, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
for number, code in enumerate(re.findall(r"^```cpp\n(.*?)^```$", page.read_text(), re.M | re.S)):
    (folder / f"program{number}.cpp").write_text(code)
    print(f"program{number}")
