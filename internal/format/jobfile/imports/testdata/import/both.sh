#!/bin/bash
#SBATCH -n 2
#$ -pe smp 4
#PBS -l nodes=1:ppn=4
./work
