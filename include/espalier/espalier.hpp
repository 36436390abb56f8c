// Everything public, as a table of contents. A program that uses one part compiles faster with that part's header.
// Example:
//   const std::unique_ptr<TableModel> iris = load_model_as<TableModel>("runs/iris");
//   const CsvTable rows = parse_csv("petal_length,petal_width\n1.4,0.2\n", "a flower");
//   const std::vector<double> shares = iris->predict(rows);
#pragma once

// Train a task into a folder, resume it, watch it.
#include "espalier/run.hpp"

// Models: load and save any; what each kind can do.
#include "espalier/dag_nn.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/model.hpp"

// What they are made of.
#include "espalier/gate_network.hpp"
#include "espalier/logic_automaton.hpp"

// What they read: graphs and their edit distance, tables.
#include "espalier/graph.hpp"
#include "espalier/table.hpp"

// Circuits: gates, boards of bits, smaller circuits and their proofs.
#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"
#include "espalier/synth.hpp"

// Training of one's own objectives.
#include "espalier/optimizer.hpp"
#include "espalier/parameters.hpp"
#include "espalier/trainer.hpp"

// The floor: errors, options, random numbers, files, threads and processes.
#include "espalier/error.hpp"
#include "espalier/fields.hpp"
#include "espalier/random.hpp"
#include "espalier/ranks.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/thread_pool.hpp"
