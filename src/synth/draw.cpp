#include "synth/draw.hpp"

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/export.hpp"
#include "synth/child_process.hpp"
#include "synth/work_folder.hpp"

namespace espalier {

std::string draw_svg(const Netlist& netlist) {
  constexpr double kSeconds = 120;
  const std::string dot = find_program("dot");
  if (dot.empty()) fail("svg", "no program dot in $PATH", "graphviz", "apt-get install graphviz, or export --to dot");
  const WorkFolder folder;
  write_atomically(folder.file("circuit.dot"), std::string_view(export_dot(netlist)));
  if (run_program({dot, "-Tsvg", "-o", folder.file("circuit.svg"), folder.file("circuit.dot")}, kSeconds) != 0)
    fail("svg", "no answer from dot", "a picture", "the circuit may be too large to draw");
  return read_text(folder.file("circuit.svg"));
}

}  // namespace espalier
