// What a circuit is called that no weights made.
#pragma once

#include <string>

#include "espalier/trainer.hpp"

namespace espalier {

// Beside "as trained": "as built", "as found by search", ...
std::string circuit_words_for(const Provenance& provenance);

}  // namespace espalier
