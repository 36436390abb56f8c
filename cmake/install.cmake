# `cmake --install`, then find_package(espalier CONFIG) and link espalier::espalier.
include(CMakePackageConfigHelpers)
install(TARGETS espalier_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS espalier ${ESPALIER_ROOMS} EXPORT espalier_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/espalier)
install(EXPORT espalier_targets NAMESPACE espalier:: DESTINATION ${package_dir})
configure_package_config_file(cmake/espalier-config.cmake.in espalier-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(espalier-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/espalier-config.cmake ${PROJECT_BINARY_DIR}/espalier-config-version.cmake
  cmake/dependencies.cmake DESTINATION ${package_dir})
