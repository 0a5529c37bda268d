"""CSV files for people and their spreadsheets: points to try, batches to fill in, and results.

cells      one cell: numbers as people type them, text that a spreadsheet must leave alone
columns    what the columns of a problem are called
reading    a file and its rows, with everything that is wrong with it
writing    a batch as a file to fill in
results    what came back, compared with what went out
"""

from photinus.sheets.reading import read_measured as read_measured
from photinus.sheets.reading import read_points as read_points
from photinus.sheets.results import ToldSheet as ToldSheet
from photinus.sheets.results import read_results as read_results
from photinus.sheets.writing import handed_back as handed_back
from photinus.sheets.writing import new_file as new_file
from photinus.sheets.writing import sheet_text as sheet_text
