// What reports say of seeds, under the names by which people see it: in the program's JSON, in Python and in seeds.csv.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/fields.hpp"
#include "espalier/run.hpp"

namespace espalier {

using ReportValues = std::vector<std::pair<const char*, std::optional<FieldValue>>>;
// None: not known, of a seed that was not started or not judged, or there is nothing to say.
ReportValues values_of(const SeedReport& report);
// seeds.csv: how every seed of a run ended.
std::string seeds_table(const std::vector<SeedReport>& seeds);

}  // namespace espalier
