"""How a person's file was understood. Here is what was decided, on what grounds, and what is in question.

model     a reading: dialect, columns, counts, warnings, questions
mapping   what a person says instead: one mapping, whatever the face
"""
