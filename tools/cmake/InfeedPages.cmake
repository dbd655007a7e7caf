# Run as a script: the program COMMAND writes its manual pages and completions into FOLDER.
function(write FILE)
  execute_process(COMMAND ${COMMAND} ${ARGN} OUTPUT_FILE ${FOLDER}/${FILE} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})  # a page of a command that is gone
file(MAKE_DIRECTORY ${FOLDER}/man1)
write(man1/infeed.1 help --man)
# It names the pages of the commands.
file(STRINGS ${FOLDER}/man1/infeed.1 pages REGEX "^\\.BR infeed")
foreach(page IN LISTS pages)
  string(REGEX REPLACE "^.*-([a-z]+) .*$" "\\1" command "${page}")
  write(man1/infeed-${command}.1 help ${command} --man)
endforeach()
write(infeed completion bash)
write(_infeed completion zsh)
