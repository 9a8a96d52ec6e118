"""One module a catalogue, under its name. ``calls`` says what is sent to it for a release."""
