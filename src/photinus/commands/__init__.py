"""Commands as objectives: a program is run for every trial, and what it prints is the result."""

from photinus.commands.results import check_pattern as check_pattern
from photinus.commands.words import check_words as check_words
from photinus.commands.words import substitute as substitute
from photinus.commands.workers import Command as Command
from photinus.commands.workers import CommandWorkers as CommandWorkers
