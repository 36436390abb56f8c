#include "places.hpp"

namespace espalier::test {

std::string source_dir() { return ESPALIER_SOURCE_DIR; }
std::string program_path() { return ESPALIER_PROGRAM; }

}  // namespace espalier::test
