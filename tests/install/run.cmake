# cmake -D BUILD=... -D SOURCE=... -D COMPILER=... -D CONFIG=... -P run.cmake: installs the build into a folder of its own,
# builds the outside project and the programs of docs/programs.md against it, and runs them and the installed program.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${BUILD}/install_test RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed (${result}):\n${output}")
  endif()
endfunction()

set(prefix ${BUILD}/install_test/prefix)
file(REMOVE_RECURSE ${BUILD}/install_test)
file(MAKE_DIRECTORY ${BUILD}/install_test)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(python3 ${SOURCE}/tests/install/extract.py ${SOURCE}/docs/programs.md ${BUILD}/install_test/programs)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B user -G Ninja -DCMAKE_BUILD_TYPE=${CONFIG}
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER} -DPROGRAMS=${BUILD}/install_test/programs)
run(${CMAKE_COMMAND} --build user)
run(user/user)
file(GLOB programs ${BUILD}/install_test/programs/*.cpp)
list(LENGTH programs count)
if(count LESS 7)
  message(FATAL_ERROR "docs/programs.md has only ${count} programs")
endif()
foreach(program ${programs})
  get_filename_component(name ${program} NAME_WE)
  run(user/${name})
endforeach()
run(${prefix}/bin/espalier train --list)
