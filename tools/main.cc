#include <infeed/convert/command.h>

int main(int argc, char** argv) { return infeed::run_command(argc, argv); }
