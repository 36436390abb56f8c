// Where the sources and the program lie: functions in a file of their own (places.cpp), so that no other test is
// compiled anew for a checkout in another folder.
#pragma once

#include <string>

namespace espalier::test {

std::string source_dir();
std::string program_path();

}  // namespace espalier::test
