// CSV tables as numbers: which columns are numbers and which are words, and how they are scaled.
#pragma once

#include <string>
#include <vector>

#include "espalier/table.hpp"

namespace espalier {

// How one column becomes numbers: (x - mean) / deviation, or one number per word.
struct TableColumn {
  std::string name;
  bool numeric = true;
  double mean = 0, deviation = 1;
  std::vector<std::string> words;  // ascending; an unknown word becomes all noughts
  std::string usual;               // the word that stands in for a missing one
  std::size_t width() const { return numeric ? 1 : words.size(); }
};

struct TableSchema {
  std::vector<TableColumn> inputs;
  TableColumn target;  // words: classification
  bool impute = false;

  std::size_t num_inputs() const;
  std::size_t num_outputs() const { return target.width(); }
  bool classifies() const { return !target.numeric; }
  bool classes_are_numbers() const;

  // Learned from the given rows alone. kind: "auto" (words are classes, and whole numbers of which there are few),
  // "classify" or "regress". words: columns that are words, though their values may be numbers.
  static TableSchema fit(const CsvTable& table, const std::vector<std::size_t>& rows, const std::string& target,
                         const std::string& kind, bool impute, const std::vector<std::string>& words = {});
  // Rows as [rows][num_inputs]; columns are found by name, others ignored.
  std::vector<float> inputs_of(const CsvTable& table, const std::vector<std::size_t>& rows) const;
  std::vector<UnknownWord> unknown_words(const CsvTable& table) const;
  // Class numbers, or standardised targets.
  std::vector<float> targets_of(const CsvTable& table, const std::vector<std::size_t>& rows) const;
};

// As the JSON text of model files.
std::string schema_text(const TableSchema& schema);
TableSchema schema_from(const std::string& text, const std::string& name);

}  // namespace espalier
