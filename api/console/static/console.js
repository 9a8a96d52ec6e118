// What pages do beyond their forms and links, which all work without it.
"use strict";
document.documentElement.classList.add("js");

document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".bar [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  for (const box of document.querySelectorAll("[data-events]")) follow(box);
  for (const slider of document.querySelectorAll("[data-slides]")) slide(slider);
  for (const area of document.querySelectorAll(".drop")) take(area);
  for (const form of document.querySelectorAll("form[data-ask]")) {
    form.addEventListener("submit", (event) => {
      if (!window.confirm(form.dataset.ask)) event.preventDefault();
    });
  }
});

// The job's stages, redrawn as the service tells of each; the whole page is read anew once the job has ended.
function follow(box) {
  const source = new EventSource(box.dataset.events);
  const redraw = () => box.dispatchEvent(new CustomEvent("redraw"));
  source.addEventListener("step", redraw);
  source.addEventListener("state", redraw);
  source.addEventListener("end", () => {
    source.close();
    window.location.reload();
  });
}

// A slider over a field of numbers: the field is what is sent.
function slide(slider) {
  const field = document.getElementById(slider.dataset.slides);
  slider.addEventListener("input", () => { field.value = slider.value; });
  slider.addEventListener("change", () => field.dispatchEvent(new Event("change", { bubbles: true })));
  field.addEventListener("input", () => { slider.value = field.value; });
}

// A file may be dropped where one is chosen.
function take(area) {
  const field = area.querySelector("input[type=file]");
  for (const name of ["dragenter", "dragover"]) {
    area.addEventListener(name, (event) => { event.preventDefault(); area.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) {
    area.addEventListener(name, (event) => { event.preventDefault(); area.classList.remove("over"); });
  }
  area.addEventListener("drop", (event) => { if (event.dataTransfer.files.length) field.files = event.dataTransfer.files; });
}
