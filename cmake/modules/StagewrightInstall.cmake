# What `cmake --install` installs: headers (written and generated), TableGen sources, libraries, tools, and the
# package files that let find_package(Stagewright) find them. Included last, when every target is known.

include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stagewright/dialects
        FILES_MATCHING PATTERN "*.td")
if(STAGEWRIGHT_COMPILER)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.inc")
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Stagewright)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/StagewrightConfig.cmake.in
  ${PROJECT_BINARY_DIR}/StagewrightConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StagewrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StagewrightConfig.cmake ${PROJECT_BINARY_DIR}/StagewrightConfigVersion.cmake
        DESTINATION ${package})
install(EXPORT StagewrightTargets DESTINATION ${package})
