#pragma once
#include "espalier/netlist.hpp"
