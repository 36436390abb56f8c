// Ctrl-C: the first asks long work to stop in good order, the second ends the program at once.
#pragma once

#include "espalier/thread_pool.hpp"

namespace espalier::app {

// Installs the handler on first use.
const StopFlag& interrupt_flag();

}  // namespace espalier::app
