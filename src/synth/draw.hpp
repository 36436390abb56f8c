// A picture of a circuit, drawn by graphviz.
#pragma once

#include <string>

#include "espalier/netlist.hpp"

namespace espalier {

// SVG; an Error when graphviz is not installed.
std::string draw_svg(const Netlist& netlist);

}  // namespace espalier
