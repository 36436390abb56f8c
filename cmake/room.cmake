# espalier_room(NAME FOLDERS ... LINKS ... [PRIVATE_LINKS ...]): the static library of one room.
# Sources are all *.cpp of its folders under src/ but the bench cases (*_bench.cpp), which belong to the program.
set(ESPALIER_ROOMS "")
function(espalier_room name)
  cmake_parse_arguments(room "" "" "FOLDERS;LINKS;PRIVATE_LINKS" ${ARGN})
  set(sources "")
  foreach(folder ${room_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_bench\\.cpp$")
  add_library(espalier_${name} STATIC ${sources})
  add_library(espalier::${name} ALIAS espalier_${name})
  set_target_properties(espalier_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(espalier_${name} PUBLIC cxx_std_20)
  target_include_directories(espalier_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(espalier_${name} PUBLIC ${room_LINKS}
    PRIVATE $<BUILD_INTERFACE:espalier_compile_options> ${room_PRIVATE_LINKS})
  espalier_precompile(espalier_${name} rooms)
  set(ESPALIER_ROOMS ${ESPALIER_ROOMS} espalier_${name} PARENT_SCOPE)
endfunction()
