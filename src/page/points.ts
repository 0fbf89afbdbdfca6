// Draws the bicycles as points: one buffer for all of them, so that 100,000 move as smoothly as ten.

import type { CustomLayerInterface, Map as MapLibre } from 'maplibre-gl';
import { worldX } from '../globe/projection.js';
import { mercatorY, type PageBicycle } from './fleet.js';
import { LOOKS, pageLookOf, readColour } from './looks.js';
import { HALO_MS, linkShaders } from './shaders.js';
import { extentOf, viewOf } from './view.js';

/** What a vertex of the buffer holds, and how many floats of it. */
const VERTEX_PARTS = { high: 2, low: 2, changed: 1 };
const VERTEX_FLOATS = 5;
const ROOMY = 3_000;
const START_MS = performance.now();

export type Points = ReturnType<typeof openPoints>;

export function openPoints(map: MapLibre, onFirstPaint: () => void) {
  /** By their looks, in the order in which they are drawn; undefined before any are known. */
  let layers: readonly PageBicycle[][] | undefined;
  let isStale = true;
  let isPainted = false;
  let youngestMs = Number.NEGATIVE_INFINITY;
  let drawing: Drawing | undefined;
  const layer: CustomLayerInterface = {
    id: 'bicycles',
    type: 'custom',
    renderingMode: '2d',
    onAdd(_map, context) {
      drawing = openDrawing(context as WebGL2RenderingContext);
      isStale = true;
    },
    render() {
      // MapLibre knows of buffers that are bound while it draws.
      if (isStale && drawing !== undefined) fillBuffer(drawing, (layers ?? []).flat());
      isStale = false;
      if (drawing !== undefined) drawPoints(drawing, map, layers ?? []);
      if (!isPainted && layers !== undefined) {
        isPainted = true;
        onFirstPaint();
      }
      if (!isStill() && performance.now() - youngestMs < HALO_MS) map.triggerRepaint();
    },
  };
  return {
    layer,
    /** The bicycles to draw; everything else is hidden. */
    show(shown: readonly PageBicycle[]) {
      layers = LOOKS.map(() => []);
      for (const bicycle of shown) {
        layers[LOOKS.indexOf(pageLookOf(bicycle.state))]?.push(bicycle);
        youngestMs = Math.max(youngestMs, bicycle.changedMs);
      }
      isStale = true;
      map.triggerRepaint();
    },
    /** The nearest drawn point within so many pixels of one of the map's. */
    nearest(pixelX: number, pixelY: number, withinPixels: number): PageBicycle | undefined {
      const { lng, lat } = map.unproject([pixelX, pixelY]);
      const [x, y] = [worldX(lng), mercatorY(lat)];
      let best = withinPixels / viewOf(map).worldDots;
      let found: PageBicycle | undefined;
      for (const bicycle of layers?.flat() ?? []) {
        const east = bicycle.x - x;
        const distance = Math.hypot(east - Math.round(east), bicycle.y - y);
        if (distance > best) continue;
        best = distance;
        found = bicycle;
      }
      return found;
    },
  };
}

type Drawing = ReturnType<typeof openDrawing>;

function openDrawing(gl: WebGL2RenderingContext) {
  const program = linkShaders(gl);
  const [buffer, array] = [gl.createBuffer(), gl.createVertexArray()];
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  let offset = 0;
  for (const [name, length] of Object.entries(VERTEX_PARTS)) {
    const location = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, length, gl.FLOAT, false, VERTEX_FLOATS * 4, offset * 4);
    offset += length;
  }
  gl.bindVertexArray(null);
  return { gl, program, buffer, array };
}

function fillBuffer({ gl, buffer }: Drawing, shown: readonly PageBicycle[]): void {
  const data = new Float32Array(shown.length * VERTEX_FLOATS);
  for (const [index, { x, y, changedMs }] of shown.entries()) {
    const [highX, highY] = [Math.fround(x), Math.fround(y)];
    data.set([highX, highY, x - highX, y - highY, Math.max(changedMs - START_MS, -HALO_MS)], index * VERTEX_FLOATS);
  }
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
}

function drawPoints({ gl, program, array }: Drawing, map: MapLibre, layers: readonly PageBicycle[][]): void {
  const { x, y, worldDots } = viewOf(map);
  const { width, height } = extentOf(map);
  const at = (name: string) => gl.getUniformLocation(program, name);
  const count = layers.reduce((sum, { length }) => sum + length, 0);
  gl.bindVertexArray(array);
  gl.useProgram(program);
  gl.uniform2f(at('centreHigh'), Math.fround(x), Math.fround(y));
  gl.uniform2f(at('centreLow'), x - Math.fround(x), y - Math.fround(y));
  gl.uniform2f(at('scale'), (worldDots / width) * 2, (worldDots / height) * 2);
  // Where there is room for it, a point is large enough to hit.
  gl.uniform1f(at('size'), pointPixels(map.getZoom()) * map.getPixelRatio() * (count < ROOMY ? 1.2 : 1));
  gl.uniform1f(at('now'), isStill() ? Number.MAX_SAFE_INTEGER : performance.now() - START_MS);
  gl.uniform3fv(at('rim'), rgbOf(readColour('rim')));
  gl.disable(gl.DEPTH_TEST);
  gl.disable(gl.STENCIL_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const half = width / worldDots / 2;
  let first = 0;
  for (const [shape, { length }] of layers.entries()) {
    gl.uniform1i(at('shape'), shape);
    gl.uniform3fv(at('fill'), rgbOf(readColour(LOOKS[shape] ?? 'other')));
    // The world again at its sides, where they are in sight.
    for (let turn = Math.floor(x - half); length > 0 && turn <= x + half; turn++) {
      gl.uniform1f(at('shift'), turn);
      gl.drawArrays(gl.POINTS, first, length);
    }
    first += length;
  }
  gl.bindVertexArray(null);
}

/** `#58a6ff` as red, green and blue from 0 to 1. */
function rgbOf(colour: string): readonly [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

function isStill(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** Points grow as the map comes nearer. */
export function pointPixels(zoom: number): number {
  return Math.max(8, Math.min(22, 8 + (zoom - 9) * 1.5));
}
