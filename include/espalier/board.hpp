#pragma once
#include "espalier/simulator.hpp"
