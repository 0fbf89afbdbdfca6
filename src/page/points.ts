// Draws the bicycles as points: one buffer for all of them, so that 100,000 move as smoothly as ten.

import type { CustomLayerInterface, Map as MapLibre } from 'maplibre-gl';
import { type Fleet, mercatorX, mercatorY } from './fleet.js';
import { layerOf, lookOf, rgbOf, SHAPES, type Theme } from './looks.js';

export interface Points {
  readonly layer: CustomLayerInterface;
  /** The places to draw; everything else is hidden. */
  show(places: Uint32Array): void;
  paint(theme: Theme): void;
  /** The place of the nearest drawn point within so many pixels of one of the map's. */
  nearest(x: number, y: number, withinPixels: number): number | undefined;
}

/** How long a change is shown by a halo. */
const HALO_MS = 1_800;
const FLOATS = 8;
const ROOMY = 3_000;
const TILE_PIXELS = 512;

/*
 * A float holds a position to two metres, so each comes in two parts, and the difference to the middle of the map is taken before they
 * are put together.
 */
const VERTEX = `#version 300 es
in vec2 high; in vec2 low; in vec3 colour; in float packed;
uniform vec2 centreHigh; uniform vec2 centreLow; uniform vec2 scale; uniform float shift;
uniform float size; uniform float now;
out vec3 fill; flat out int shape; out float halo; out float side;
void main() {
  vec2 away = (high - centreHigh) + (low - centreLow) + vec2(shift, 0.0);
  gl_Position = vec4(away.x * scale.x, -away.y * scale.y, 0.0, 1.0);
  shape = int(mod(packed, 16.0));
  float age = now - floor(packed / 16.0) * 50.0;
  halo = packed < 16.0 ? 0.0 : clamp(1.0 - age / ${HALO_MS.toFixed(1)}, 0.0, 1.0);
  fill = colour;
  side = size * (halo > 0.0 ? 3.2 : 1.0);
  gl_PointSize = side;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec3 fill; flat in int shape; in float halo; in float side;
uniform float size; uniform vec3 rim; uniform float strength;
out vec4 result;
float box(vec2 p, vec2 b) { vec2 d = abs(p) - b; return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0); }
// Five tips at 0.8, the corners between at 0.36: how far beyond the edge that ends at the nearest tip.
float star(vec2 p) {
  float a = abs(mod(atan(p.x, -p.y) + 0.6283185, 1.256637) - 0.6283185);
  return dot(length(p) * vec2(cos(a), sin(a)) - vec2(0.8, 0.0), vec2(0.384, 0.9233));
}
void main() {
  vec2 p = (gl_PointCoord - 0.5) * side / size * 2.0;
  float r = length(p);
  vec2 q = vec2(p.x + p.y, p.y - p.x) * 0.70710678;
  float d;
  if (shape == 0) d = r - 0.62;
  else if (shape == 1) d = abs(r - 0.5) - 0.2;
  else if (shape == 2) d = box(p, vec2(0.54));
  else if (shape == 3) d = max(abs(p.x) * 0.866 - (p.y - 0.1) * 0.5, p.y - 0.1) - 0.4;
  else if (shape == 4) d = box(q, vec2(0.54));
  else if (shape == 5) d = min(box(q, vec2(0.72, 0.2)), box(q, vec2(0.2, 0.72)));
  else if (shape == 6) d = star(p);
  else d = min(box(p, vec2(0.66, 0.2)), box(p, vec2(0.2, 0.66)));
  float soft = 2.0 / size;
  float inside = 1.0 - smoothstep(-soft, soft * 0.5, d);
  float edge = 1.0 - smoothstep(0.14 - soft, 0.14 + soft, d);
  float ringAt = mix(3.0, 0.9, halo);
  float glow = halo * 0.85 * (1.0 - smoothstep(0.0, 0.28, abs(r - ringAt)));
  float cover = max(edge * strength, glow);
  if (cover < 0.01) discard;
  vec3 shown = edge > 0.01 ? mix(rim, fill, inside) : fill;
  result = vec4(shown * cover, cover);
}`;

export function openPoints(fleet: Fleet, map: MapLibre, startTheme: Theme, onFirstPaint: () => void): Points {
  let places: Uint32Array = new Uint32Array(0);
  let theme = startTheme;
  let isStale = true;
  let isPainted = false;
  let isShown = false;
  let data = new Float32Array(0);
  let youngestMs = Number.NEGATIVE_INFINITY;
  let gl: WebGL2RenderingContext | undefined;
  let program: WebGLProgram | undefined;
  let buffer: WebGLBuffer | null = null;
  let array: WebGLVertexArrayObject | null = null;
  const startMs = performance.now();

  /** Writes the points in the order in which they are drawn. */
  const fill = () => {
    const layers = fleet.groups.state.words.map(layerOf);
    const colours = fleet.groups.state.words.map((word) => rgbOf(lookOf(word)[theme]));
    const shapes = fleet.groups.state.words.map((word) => SHAPES.indexOf(lookOf(word).shape));
    const starts = new Uint32Array(16);
    const states = fleet.groups.state.places;
    for (const place of places) {
      const after = (layers[states[place] ?? 0] ?? 0) + 1;
      starts[after] = (starts[after] ?? 0) + 1;
    }
    for (let layer = 1; layer < starts.length; layer++) starts[layer] = (starts[layer] ?? 0) + (starts[layer - 1] ?? 0);
    if (data.length < places.length * FLOATS) data = new Float32Array(Math.ceil(places.length * 1.2) * FLOATS);
    for (const place of places) {
      const state = states[place] ?? 0;
      const layer = layers[state] ?? 0;
      const index = starts[layer] ?? 0;
      starts[layer] = index + 1;
      let at = index * FLOATS;
      const [x, y] = [fleet.xs[place] ?? Number.NaN, fleet.ys[place] ?? Number.NaN];
      const [highX, highY] = [Math.fround(x), Math.fround(y)];
      const [red, green, blue] = colours[state] ?? [0, 0, 0];
      const changedMs = fleet.changedMs[place] ?? Number.NEGATIVE_INFINITY;
      const ticks = changedMs === Number.NEGATIVE_INFINITY ? 0 : Math.max(1, Math.round((changedMs - startMs) / 50));
      if (changedMs > youngestMs) youngestMs = changedMs;
      data[at++] = highX;
      data[at++] = highY;
      data[at++] = x - highX;
      data[at++] = y - highY;
      data[at++] = red;
      data[at++] = green;
      data[at++] = blue;
      data[at++] = ticks * 16 + (shapes[state] ?? 0);
    }
  };

  const layer: CustomLayerInterface = {
    id: 'bicycles',
    type: 'custom',
    renderingMode: '2d',
    onAdd(_map, context) {
      gl = context as WebGL2RenderingContext;
      program = link(gl);
      buffer = gl.createBuffer();
      array = gl.createVertexArray();
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      for (const [name, length, offset] of [
        ['high', 2, 0],
        ['low', 2, 2],
        ['colour', 3, 4],
        ['packed', 1, 7],
      ] as const) {
        const location = gl.getAttribLocation(program, name);
        gl.enableVertexAttribArray(location);
        gl.vertexAttribPointer(location, length, gl.FLOAT, false, FLOATS * 4, offset * 4);
      }
      gl.bindVertexArray(null);
      isStale = true;
    },
    render() {
      if (gl === undefined || program === undefined) return;
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      if (isStale) {
        fill();
        gl.bufferData(gl.ARRAY_BUFFER, data.subarray(0, places.length * FLOATS), gl.DYNAMIC_DRAW);
        isStale = false;
      }
      draw(gl, program);
      gl.bindVertexArray(null);
      if (!isPainted && isShown) {
        isPainted = true;
        onFirstPaint();
      }
      if (!isStill() && performance.now() - youngestMs < HALO_MS) map.triggerRepaint();
    },
  };

  const draw = (context: WebGL2RenderingContext, linked: WebGLProgram) => {
    const at = (name: string) => context.getUniformLocation(linked, name);
    const centre = map.getCenter();
    const [x, y] = [mercatorX(centre.lng), mercatorY(centre.lat)];
    const worldPixels = TILE_PIXELS * 2 ** map.getZoom();
    const { clientWidth: width, clientHeight: height } = map.getCanvas();
    const ratio = map.getPixelRatio();
    context.useProgram(linked);
    context.uniform2f(at('centreHigh'), Math.fround(x), Math.fround(y));
    context.uniform2f(at('centreLow'), x - Math.fround(x), y - Math.fround(y));
    context.uniform2f(at('scale'), (worldPixels / width) * 2, (worldPixels / height) * 2);
    // Where there is room for it, a point is large enough to hit.
    const room = places.length < ROOMY ? 1.2 : 1;
    context.uniform1f(at('size'), pointPixels(map.getZoom()) * ratio * room);
    context.uniform1f(at('now'), isStill() ? Number.MAX_SAFE_INTEGER : performance.now() - startMs);
    context.uniform3fv(at('rim'), theme === 'dark' ? [0.04, 0.06, 0.09] : [1, 1, 1]);
    context.uniform1f(at('strength'), 0.96);
    context.disable(context.DEPTH_TEST);
    context.disable(context.STENCIL_TEST);
    context.enable(context.BLEND);
    context.blendFunc(context.ONE, context.ONE_MINUS_SRC_ALPHA);
    const half = width / worldPixels / 2;
    for (let turn = Math.floor(x - half) - 1; turn <= Math.ceil(x + half); turn++) {
      if (turn + 1 < x - half || turn > x + half) continue;
      context.uniform1f(at('shift'), turn);
      context.drawArrays(context.POINTS, 0, places.length);
    }
  };

  return {
    layer,
    show(shown) {
      places = shown;
      isShown = true;
      isStale = true;
      map.triggerRepaint();
    },
    paint(wanted) {
      theme = wanted;
      isStale = true;
      map.triggerRepaint();
    },
    nearest(pixelX, pixelY, withinPixels) {
      const { lng, lat } = map.unproject([pixelX, pixelY]);
      const worldPixels = TILE_PIXELS * 2 ** map.getZoom();
      const x = ((mercatorX(lng) % 1) + 1) % 1;
      const y = mercatorY(lat);
      let best = (withinPixels / worldPixels) ** 2;
      let found: number | undefined;
      for (const place of places) {
        const east = (fleet.xs[place] ?? Number.NaN) - x;
        const south = (fleet.ys[place] ?? Number.NaN) - y;
        const distance = east * east + south * south;
        if (distance > best) continue;
        best = distance;
        found = place;
      }
      return found;
    },
  };
}

function isStill(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** Points grow as the map comes nearer. */
export function pointPixels(zoom: number): number {
  return Math.max(8, Math.min(22, 8 + (zoom - 9) * 1.5));
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type);
    if (shader === null) throw new Error('the browser gives no shader');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (gl.getShaderParameter(shader, gl.COMPILE_STATUS) !== true) throw new Error(gl.getShaderInfoLog(shader) ?? '');
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true) throw new Error(gl.getProgramInfoLog(program) ?? '');
  return program;
}
