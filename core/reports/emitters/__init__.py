"""One module a catalogue, under the catalogue's name: ``calls`` says what is sent to it for a release."""
